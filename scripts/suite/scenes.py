"""What stands in the suite's scenes; where it stands is drawn.

Each scene is named, and lists its things; ``inside`` are those that stand in or on another one at the start,
and ``lying`` those that have fallen over. Scenes of
the kitchen are drawn by a problem of it, and their tasks are written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class SceneSpec(NamedTuple):
    """The things of a scene; those of ``lying`` lie on their side, and its tasks are about them."""

    name: str
    things: str
    inside: Mapping[str, str] = {}
    lying: str = ""


SCENES = (
    SceneSpec("fruit_bowl", "white_bowl green_basket red_apple banana lemon orange_peach red_mug"),
    SceneSpec("two_apples", "blue_bowl white_plate red_apple green_apple purple_plum yellow_sponge"),
    SceneSpec("market", "green_basket brown_tray red_apple orange_carrot red_tomato"),
    SceneSpec("salad", "red_bowl white_plate green_cucumber red_tomato yellow_tomato lemon"),
    SceneSpec("berries", "brown_tray red_strawberry purple_plum lemon blue_cube"),
    SceneSpec("harvest", "brown_tray green_basket red_tomato yellow_tomato purple_eggplant red_apple green_apple"),
    SceneSpec("five_fruits", "grey_tray lemon purple_plum red_strawberry blue_sponge red_can"),
    SceneSpec("pantry", "green_basket red_can blue_can red_soup_can brown_pudding_box yellow_sugar_box"),
    SceneSpec("soups", "brown_tray red_soup_can yellow_soup_can green_soup_can white_milk_carton lemon"),
    SceneSpec("drinks", "pink_basket red_can green_can blue_can green_water_bottle yellow_sponge"),
    SceneSpec("boxes", "grey_tray red_gelatin_box green_gelatin_box orange_gelatin_box red_apple"),
    SceneSpec("sauces", "green_basket yellow_mustard_bottle red_mustard_bottle blue_water_bottle red_soup_can banana"),
    SceneSpec("cans_and_fruit", "green_basket pink_basket red_can blue_can lemon purple_plum"),
    SceneSpec("toy_box", "green_basket red_cube blue_cube yellow_brick red_apple"),
    SceneSpec("ducks", "pink_basket yellow_duck blue_duck red_cube white_golf_ball yellow_tennis_ball"),
    SceneSpec("balls", "pink_basket white_golf_ball orange_golf_ball yellow_tennis_ball red_brick"),
    SceneSpec("nursery", "brown_tray green_basket red_brick blue_brick white_golf_ball orange_golf_ball"),
    SceneSpec("four_cubes", "red_cube blue_cube green_cube yellow_cube white_plate"),
    SceneSpec("three_cubes", "red_cube blue_cube yellow_cube green_basket lemon"),
    SceneSpec("cubes_and_bricks", "red_cube green_cube red_brick green_brick brown_tray"),
    SceneSpec("towers", "red_cube blue_cube green_cube yellow_cube green_basket"),
    SceneSpec("building_site", "blue_cube yellow_cube green_cube red_cube orange_screwdriver"),
    SceneSpec("workshop", "brown_tray hammer orange_screwdriver clamp padlock yellow_glue_stick"),
    SceneSpec("two_tools", "grey_tray blue_screwdriver blue_wrench red_apple black_marker"),
    SceneSpec("desk", "brown_tray red_marker blue_marker black_marker black_stapler white_mug"),
    SceneSpec("markers", "grey_tray red_marker green_marker black_marker blue_cube"),
    SceneSpec("living_room", "pink_basket black_remote white_remote white_mouse lemon blue_mug"),
    SceneSpec("gadgets", "grey_tray black_remote black_mouse red_flashlight red_apple red_cube"),
    SceneSpec("washing", "red_bowl white_plate pink_soap yellow_sponge blue_sponge red_tomato"),
    SceneSpec("sink", "brown_tray green_soap blue_sponge orange_cup blue_cup purple_plum"),
    SceneSpec("cutlery", "brown_tray red_spoon blue_spoon green_spoon lemon"),
    SceneSpec("red_and_blue", "green_basket pink_basket red_cube red_brick blue_cube blue_brick"),
    SceneSpec("red_and_yellow", "pink_basket green_basket red_cube red_strawberry yellow_brick lemon"),
    SceneSpec("all_red", "green_basket red_cube red_brick red_strawberry blue_cube yellow_cube"),
    SceneSpec("full_tray", "brown_tray lemon purple_plum red_cube", {"brown_tray": "lemon red_cube"}),
    SceneSpec("full_basket", "green_basket red_apple yellow_duck blue_cube", {"green_basket": "yellow_duck"}),
    SceneSpec("full_plate", "white_plate purple_plum red_strawberry blue_cube", {"white_plate": "red_strawberry"}),
    SceneSpec(
        "leftovers",
        "blue_plate grey_tray orange_peach red_tomato green_brick",
        {"grey_tray": "orange_peach red_tomato"},
    ),
    SceneSpec("two_baskets", "green_basket pink_basket lemon red_cube white_golf_ball"),
    SceneSpec("two_balls", "green_basket white_golf_ball pink_tennis_ball blue_cube lemon"),
    SceneSpec("small_boxes", "grey_tray red_gelatin_box brown_pudding_box purple_plum blue_sponge"),
    SceneSpec("tray_and_basket", "brown_tray pink_basket red_cube blue_cube lemon purple_plum"),
    SceneSpec("fallen_soup", "red_soup_can yellow_soup_can red_apple", lying="red_soup_can yellow_soup_can"),
    SceneSpec("fallen_cups", "orange_cup blue_cup yellow_sponge purple_plum", lying="orange_cup blue_cup"),
    SceneSpec(
        "fallen_bottles",
        "yellow_mustard_bottle white_milk_carton lemon",
        lying="yellow_mustard_bottle white_milk_carton",
    ),
    SceneSpec("fallen_tools", "yellow_glue_stick red_flashlight blue_cube", lying="yellow_glue_stick red_flashlight"),
)

KITCHEN: dict[str, tuple[str, tuple[tuple[str, str, str, str, list[str], Any], ...]]] = {
    "drawers": (
        "kitchen_1_bowl_on_plate",
        (
            (
                "open_top_drawer",
                "open the top drawer",
                "open the upper drawer",
                "take the handle of the top drawer of the cabinet and pull the drawer all the way out",
                ["affordance"],
                {"open": "cabinet/top_drawer"},
            ),
            (
                "open_bottom_drawer",
                "open the bottom drawer",
                "open the lower drawer",
                "take the handle of the bottom drawer of the cabinet and pull the drawer all the way out",
                ["affordance"],
                {"open": "cabinet/bottom_drawer"},
            ),
        ),
    ),
    "open_drawer": (
        "kitchen_10_bowl_in_top_drawer",
        (
            (
                "close_top_drawer",
                "close the top drawer",
                "shut the drawer",
                "push the open top drawer of the cabinet shut",
                ["affordance"],
                {"closed": "cabinet/top_drawer"},
            ),
        ),
    ),
    "stove": (
        "kitchen_3_pan_on_stove",
        (
            (
                "turn_on_stove",
                "turn on the stove",
                "start the stove",
                "turn the knob of the stove until the stove is on",
                ["affordance"],
                {"turned_on": "stove/knob"},
            ),
            (
                "stove_and_pot",
                "turn on the stove and put the moka pot on it",
                "get ready to make coffee",
                "turn the knob of the stove on, and put the moka pot on its burner",
                ["affordance", "conjunction"],
                {"all": [{"turned_on": "stove/knob"}, {"on_top_of": ["moka_pot", "stove"]}]},
            ),
        ),
    ),
    "microwave": (
        "kitchen_7_open_microwave",
        (
            (
                "open_microwave",
                "open the microwave",
                "open its door",
                "take the handle of the microwave's door and pull the door open",
                ["affordance"],
                {"open": "microwave/door"},
            ),
        ),
    ),
    "open_microwave": (
        "kitchen_6_close_microwave",
        (
            (
                "close_microwave",
                "close the microwave",
                "shut its door",
                "push the open door of the microwave shut",
                ["affordance"],
                {"closed": "microwave/door"},
            ),
        ),
    ),
    "hot_stove": (
        "kitchen_8_turn_off_stove",
        (
            (
                "turn_off_stove",
                "turn off the stove",
                "stop the stove",
                "turn the knob of the stove until the stove is off",
                ["affordance"],
                {"turned_off": "stove/knob"},
            ),
        ),
    ),
    "half_open_cabinet": (
        "kitchen_4_close_bottom_drawer",
        (
            (
                "close_bottom_drawer",
                "close the bottom drawer",
                "shut the drawer",
                "push the open bottom drawer of the cabinet shut",
                ["affordance"],
                {"closed": "cabinet/bottom_drawer"},
            ),
        ),
    ),
}
"""Name of a scene -> the problem that draws it, and its tasks."""
