"""An executor for nodes in lockstep, in which every message is on the critical path of a control step.

rclpy's SingleThreadedExecutor makes a wait set from scratch for every wait, and wakes itself once more after every
callback: some 0.5 ms of CPU a message for a node with twenty services, seven nodes on two cores. This one does the same
work, in the same order (waitables, timers, subscriptions, clients, services), with a wait set that is made once.
Each publisher and subscription has two events of the middleware, which hardly ever come: they are checked five times a
second, and not waited for, and so are the messages of a ``Stream``.

rclpy's own EventsExecutor (experimental, rclpy 9.1.2) was tried in its place. It hangs once a timer or a service is
added: five of the six tests of test/graph/test_executor.py never end, and no session starts (benchmark/README.md).

It takes messages through private methods of rclpy's Executor; if these are not as in rclpy 7 to 9 (Jazzy, Kilted),
``lockstep_executor`` returns rclpy's own executor.
"""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.guard_condition import GuardCondition
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from robocontrast_ros.nodes.runtime.stream import Stream

try:
    from rclpy.exceptions import TimerCancelledError
except ImportError:  # Jazzy, whose own way to call a timer is as short
    TimerCancelledError = None
try:
    from rclpy.event_handler import EventHandler
except ImportError:  # Humble
    from rclpy.qos_event import QoSEventHandler as EventHandler

LOOK = 0.2
"""Period of the checks of streams and of the middleware's events, such as a publisher of another quality [s]."""

_NANOSECONDS = 1_000_000_000

Take = Callable[[Any], Callable[[], Any] | None]
"""Takes the next message or event of an entity, and returns the work with it; None for none."""

_TAKES = ("_take_subscription", "_take_service", "_take_client", "_take_timer", "_take_waitable")


def lockstep_executor() -> SingleThreadedExecutor:
    """Return the executor of lockstep nodes, or rclpy's own if its private methods differ."""
    known = all(hasattr(SingleThreadedExecutor, name) for name in _TAKES) and hasattr(_rclpy, "WaitSet")
    return LockstepExecutor() if known else SingleThreadedExecutor()


class LockstepExecutor(SingleThreadedExecutor):
    """Runs the callbacks of its nodes one after the other, in the thread that spins."""

    def __init__(self, *, context: Context | None = None) -> None:
        """Start without nodes, in a context of ROS or the default one."""
        super().__init__(context=context)
        self._changes = 0
        self._entities: _Entities | None = None

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Wait for work, and do the work that is ready.

        Raises:
            ExternalShutdownException: ROS was shut down.
        """
        guard = self._guard
        if self._is_shutdown or guard is None:
            return
        try:
            # shutdown() destroys the guard right after triggering it: it has to outlive the wait.
            with guard.handle:
                entities = self._current_entities()
                entities.wait(guard, math.inf if timeout_sec is None else timeout_sec)
        except InvalidHandle:
            # Another thread destroyed an entity while it was listed: list them again.
            self._changes += 1
            return
        if not self._context.ok():
            raise ExternalShutdownException
        if not self._is_shutdown:
            for take, entity in entities.ready():
                work = take(entity)
                if work is not None:
                    self._run(work)
        # Tasks are callbacks of futures, and coroutines that wait: they are run whenever a
        # message or event has come.
        self._run_tasks()

    def wake(self) -> None:
        """List the entities of the nodes again: rclpy calls this when entities were added or removed."""
        self._changes += 1
        super().wake()

    def _take_subscription(self, sub: Subscription) -> Callable[[], Any] | None:
        """Return a call of the callback with a message, without the coroutine that rclpy makes for it."""
        try:
            with sub.handle:
                taken = sub.handle.take_message(sub.msg_type, sub.raw)
        except InvalidHandle:
            return None
        if taken is None:
            return None
        alone = sub._callback_type is Subscription.CallbackType.MessageOnly
        return partial(sub.callback, *taken[:1] if alone else taken)

    def _take_plain_timer(self, timer: Timer) -> Callable[[], Any] | None:
        """Return a call of a callback without arguments; rclpy's own reads its signature at each tick."""
        try:
            with timer.handle:
                timer.handle.call_timer_with_info()
        except (InvalidHandle, TimerCancelledError):
            return None
        return timer.callback

    def _current_entities(self) -> _Entities:
        # Read before the entities are listed, so that a change meanwhile is not missed.
        changes, nodes = self._changes, self.get_nodes()
        if self._entities is None or (self._entities.changes, self._entities.nodes) != (changes, nodes):
            self._entities = _Entities(self, nodes, changes, self._context.handle)
        return self._entities

    def _run(self, work: Callable[[], Any]) -> None:
        coroutine = work()
        if not inspect.iscoroutine(coroutine):
            return
        try:
            coroutine.send(None)
        except StopIteration:
            return
        # The coroutine waits for a future: its rest is a task.
        self.create_task(coroutine)

    def _run_tasks(self) -> None:
        while True:
            with self._tasks_lock:
                tasks = [task for task, _, _ in self._tasks if not task.done()]
                self._tasks = [entry for entry in self._tasks if not entry[0].done()]
            if not tasks:
                return
            for task in tasks:
                task()
            if not any(task.done() for task in tasks):
                return


class _Entities:
    """The entities that the nodes wait for, and a wait set of that size."""

    def __init__(self, executor: LockstepExecutor, nodes: list[Node], changes: int, context: Any) -> None:
        self.nodes, self.changes = nodes, changes
        waitables = [e for n in nodes for e in n.waitables]
        self._events = [w for w in waitables if isinstance(w, EventHandler)]
        self._waitables = [w for w in waitables if not isinstance(w, EventHandler)]
        self._streams = [s for n in nodes for e in n.subscriptions if (s := Stream.of(e.callback)) is not None]
        waited = {
            "timer": [e for n in nodes for e in n.timers],
            "subscription": [e for n in nodes for e in n.subscriptions if Stream.of(e.callback) is None],
            "guard_condition": [e for n in nodes for e in n.guards],
            "client": [e for n in nodes for e in n.clients],
            "service": [e for n in nodes for e in n.services],
        }
        needs = [waitable.get_num_entities() for waitable in self._waitables]

        def total(kind: str, more: int = 0) -> int:
            return more + len(waited[kind]) + sum(getattr(need, f"num_{kind}s") for need in needs)

        self._wait_set = wait_set = _rclpy.WaitSet(
            total("subscription"),
            total("guard_condition", 1),
            total("timer"),
            total("client"),
            total("service"),
            0,
            context,
        )
        self._event_set = _rclpy.WaitSet(0, 0, 0, 0, 0, len(self._events), context)
        self._due = 0.0
        takes: dict[str, Take] = {
            "timer": executor._take_plain_timer,
            "subscription": executor._take_subscription,
            "guard_condition": executor._take_guard_condition,
            "client": executor._take_client,
            "service": executor._take_service,
        }
        self._take_waitable, self._events_ready = executor._take_waitable, list[EventHandler]()
        self._adds = [
            (getattr(wait_set, f"add_{kind}"), entity.handle)
            for kind, entities in waited.items()
            for entity in entities
        ]
        self._by_pointer = {
            kind: {entity.handle.pointer: (takes[kind], entity) for entity in entities}
            for kind, entities in waited.items()
            if entities
        }
        for timer in waited["timer"]:
            if TimerCancelledError is None or inspect.signature(timer.callback).parameters:
                self._by_pointer["timer"][timer.handle.pointer] = executor._take_timer, timer

    def wait(self, wake: GuardCondition, timeout: float) -> None:
        """Wait until an entity is ready, up to a time [s]."""
        wait_set, now = self._wait_set, time.monotonic()
        wait_set.clear_entities()
        for add, handle in self._adds:
            add(handle)
        for waitable in self._waitables:
            waitable.add_to_wait_set(wait_set)
        wait_set.add_guard_condition(wake.handle)
        if self._events or self._streams:
            timeout = min(timeout, max(self._due - now, 0.0))
        wait_set.wait(-1 if timeout == math.inf else int(timeout * _NANOSECONDS))
        self._events_ready = []
        if (self._events or self._streams) and time.monotonic() >= self._due:
            self._due = time.monotonic() + LOOK
            self._look()

    def ready(self) -> list[tuple[Take, Any]]:
        """Return the entities that are ready, each with the method that takes from it."""
        wait_set = self._wait_set
        found = [*self._events_ready, *(w for w in self._waitables if w.is_ready(wait_set))]
        ready: list[tuple[Take, Any]] = [(self._take_waitable, waitable) for waitable in found]
        for kind, entities in self._by_pointer.items():
            # The executor's own guard condition is not among these entities.
            ready += [entities[p] for p in wait_set.get_ready_entities(kind) if p in entities]
        return ready

    def _look(self) -> None:
        for stream in self._streams:
            stream.look()
        self._event_set.clear_entities()
        for event in self._events:
            event.add_to_wait_set(self._event_set)
        self._event_set.wait(0)
        self._events_ready = [event for event in self._events if event.is_ready(self._event_set)]
