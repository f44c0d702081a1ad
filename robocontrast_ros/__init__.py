"""Evaluation of language-guided robot policies with contrast sets, as a ROS 2 package suite."""

import os
from pkgutil import extend_path

# The generated message modules (robocontrast_ros.msg, .srv, .action) are installed beside this
# package; in a source checkout they live in another folder of the same name.
__path__ = extend_path(__path__, __name__)

__version__ = "0.1.0"

if os.environ.get("MUJOCO_GL"):
    from robocontrast_ros.system.opengl import import_mujoco

    import_mujoco()
