; The skills of the kitchen as operators of PDDL: the 14 kinds of single skills in the 44 tasks of BOSS (seed 003).
; On, In, Open, Close, Turnon and Turnoff are the predicates of LIBERO's problems; docs/kitchen.md says when they hold.
; Open and Close are no complements, nor are Turnon and Turnoff: a drawer that is half open is neither.
; Each skill begins and ends with an empty hand. What is taken stands on a surface; nothing is taken out of a container,
; because none of the 44 tasks does that.
(define (domain kitchen)
  (:requirements :strips :typing :negative-preconditions)

  (:types
    surface container stove - object
    top spot - surface                  ; a top has room for several things, a spot for one
    region burner rack item - spot      ; a region is a place on the table
    plate bowl mug box vessel bottle - item
    pan pot - vessel
    drawer board microwave - container  ; a board of a shelf: LIBERO says In of what stands on it
  )

  (:predicates
    (On ?item - item ?place - surface)
    (In ?item - item ?place - container)
    (Open ?part - container)
    (Close ?part - container)
    (Turnon ?stove - stove)
    (Turnoff ?stove - stove)
    (Free ?place - surface)  ; it has room for a thing; follows from On: of a spot, that nothing is on it
    (Handempty)              ; the gripper holds nothing
  )

  (:action place_on_plate
    :parameters (?item - item ?plate - plate ?from - surface)
    :precondition (and (Handempty) (On ?item ?from) (Free ?plate))
    :effect (and (On ?item ?plate) (not (Free ?plate)) (not (On ?item ?from)) (Free ?from))
  )

  (:action place_on_cabinet_top
    :parameters (?item - item ?top - top ?from - surface)
    :precondition (and (Handempty) (On ?item ?from))
    :effect (and (On ?item ?top) (not (On ?item ?from)) (Free ?from))
  )

  (:action place_in_drawer
    :parameters (?item - item ?drawer - drawer ?from - surface)
    :precondition (and (Handempty) (On ?item ?from) (Open ?drawer))
    :effect (and (In ?item ?drawer) (not (On ?item ?from)) (Free ?from))
  )

  (:action open_drawer
    :parameters (?drawer - drawer)
    :precondition (and (Handempty) (not (Open ?drawer)))
    :effect (and (Open ?drawer) (not (Close ?drawer)))
  )

  (:action close_drawer
    :parameters (?drawer - drawer)
    :precondition (and (Handempty) (not (Close ?drawer)))
    :effect (and (Close ?drawer) (not (Open ?drawer)))
  )

  (:action place_on_stove
    :parameters (?vessel - vessel ?burner - burner ?from - surface)
    :precondition (and (Handempty) (On ?vessel ?from) (Free ?burner))
    :effect (and (On ?vessel ?burner) (not (Free ?burner)) (not (On ?vessel ?from)) (Free ?from))
  )

  ; The region lies beside the plate, as long as the plate stands where it does.
  (:action place_beside_plate
    :parameters (?item - item ?region - region ?plate - plate ?place - region ?from - surface)
    :precondition (and (Handempty) (On ?item ?from) (Free ?region) (On ?plate ?place))
    :effect (and (On ?item ?region) (not (Free ?region)) (not (On ?item ?from)) (Free ?from))
  )

  (:action turn_on_stove
    :parameters (?stove - stove)
    :precondition (and (Handempty) (not (Turnon ?stove)))
    :effect (and (Turnon ?stove) (not (Turnoff ?stove)))
  )

  (:action turn_off_stove
    :parameters (?stove - stove)
    :precondition (and (Handempty) (not (Turnoff ?stove)))
    :effect (and (Turnoff ?stove) (not (Turnon ?stove)))
  )

  (:action stack_bowl
    :parameters (?bowl - bowl ?under - bowl ?from - surface)
    :precondition (and (Handempty) (On ?bowl ?from) (Free ?under))
    :effect (and (On ?bowl ?under) (not (Free ?under)) (not (On ?bowl ?from)) (Free ?from))
  )

  (:action place_on_shelf
    :parameters (?item - item ?board - board ?from - surface)
    :precondition (and (Handempty) (On ?item ?from))
    :effect (and (In ?item ?board) (not (On ?item ?from)) (Free ?from))
  )

  (:action open_microwave
    :parameters (?microwave - microwave)
    :precondition (and (Handempty) (not (Open ?microwave)))
    :effect (and (Open ?microwave) (not (Close ?microwave)))
  )

  (:action close_microwave
    :parameters (?microwave - microwave)
    :precondition (and (Handempty) (not (Close ?microwave)))
    :effect (and (Close ?microwave) (not (Open ?microwave)))
  )

  (:action place_on_wine_rack
    :parameters (?bottle - bottle ?rack - rack ?from - surface)
    :precondition (and (Handempty) (On ?bottle ?from) (Free ?rack))
    :effect (and (On ?bottle ?rack) (not (Free ?rack)) (not (On ?bottle ?from)) (Free ?from))
  )
)
