"""Content of images, whatever took them."""
