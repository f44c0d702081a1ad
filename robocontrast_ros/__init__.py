"""Evaluation of language-guided robot policies with contrast sets, as a ROS 2 package suite."""

from pkgutil import extend_path

# The generated message modules (robocontrast_ros.msg, .srv, .action) are installed beside this
# package; in a source checkout they live in another folder of the same name.
__path__ = extend_path(__path__, __name__)

__version__ = "0.1.0"
