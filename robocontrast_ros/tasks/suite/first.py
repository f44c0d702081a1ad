"""A first scene file of one's own, in which each key is explained."""

from robocontrast_ros.objects.settling import PHYSICS

FIRST_SCENE = f"""\
# A scene and its tasks; its name is that of this file. `robocontrast objects` lists the models of things.
physics: {PHYSICS}  # the engine in which the things are at rest as they stand here

# Name -> model and pose, in the frame `world`: x ahead of the robot, y to its left, z up [m]; quaternion x, y, z, w.
# Movable things stand within x 0.34 to 0.66 and y -0.32 to 0.32, and on the table at z = 0.
things:
  oak_table:
    model: oak_table
    pose: [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
  beige_room:
    model: beige_room
    pose: [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
  ceiling_lamp:
    model: ceiling_lamp
    pose: [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
  white_bowl:
    model: white_bowl
    pose: [0.5, 0.12, 0.0, 0.0, 0.0, 0.0, 1.0]
  red_apple:
    model: red_apple
    pose: [0.44, -0.12, 0.0, 0.0, 0.0, 0.0, 1.0]
  lemon:
    model: lemon
    pose: [0.58, -0.18, 0.0, 0.0, 0.0, 0.0, 1.0]

# Name -> task; a scene may have several.
tasks:
  apple_in_bowl:
    # The same wish in three variants: as people say it, with less, and with colours, parts and sides.
    instruction:
      default: put the apple in the bowl
      vague: put the apple away
      specific: pick up the red apple and put it in the white bowl
    # Expression in these words -> all things that it fits: [small|large] [COLOUR] NOUN [on your left|on your right|
    # nearest to you|farthest from you]. Each thing that the goal is about needs one.
    words:
      apple: [red_apple]
      bowl: [white_bowl]
      red apple: [red_apple]
      white bowl: [white_bowl]
    # Any of semantics, color, size, spatial, counting, conjunction, affordance, sorting, stacking, reorientation. The
    # difficulty follows from them and from the number of subtasks.
    attributes: [semantics]
    # One of in, on_top_of, stacked, next_to, left_of, right_of, in_front_of, behind, outside_of, upright, picked_up,
    # open, closed, turned_on and turned_off with its things; or several of them, joined by `all: [GOAL, GOAL]`,
    # `any: [...]`, `sequence: [...]` or `choose: 2` with `of: [...]`.
    goal:
      in: [red_apple, white_bowl]
"""
"""The text of the file; `robocontrast tasks new` writes it."""
