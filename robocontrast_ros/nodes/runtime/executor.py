"""An executor for nodes in lockstep, whose every message is on the critical path of a control step.

rclpy's SingleThreadedExecutor makes a wait set from scratch for every wait, and wakes itself once more after every
callback: some 0.5 ms of CPU a message for a node with twenty services, seven nodes on two cores. This one does the same
work, in the same order (waitables, timers, subscriptions, clients, services), with a wait set that is made once.

rclpy's own EventsExecutor (experimental, rclpy 9.1.2) was tried in its place. It hangs once a timer or a service is
added: five of the six tests of test/graph/test_executor.py never end, and no session starts (benchmark/README.md).

It takes messages through private methods of rclpy's Executor; where they are not as in rclpy 7 to 9 (Jazzy, Kilted),
``lockstep_executor`` returns rclpy's own executor.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import Any

from rclpy.context import Context
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.guard_condition import GuardCondition
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node

_NANOSECONDS = 1_000_000_000

_TAKES = ("_take_subscription", "_take_service", "_take_client", "_take_timer", "_take_waitable")


def lockstep_executor() -> SingleThreadedExecutor:
    """Return the executor of lockstep nodes, or rclpy's own where its private methods differ."""
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
        """Wait for work, and do what is ready.

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
                entities.wait(guard, -1 if timeout_sec is None else int(timeout_sec * _NANOSECONDS))
        except InvalidHandle:
            # Another thread destroyed an entity while it was listed: list them again.
            self._changes += 1
            return
        if not self._context.ok():
            raise ExternalShutdownException
        for take, entity in () if self._is_shutdown else entities.ready(self):
            work = take(entity)
            if work is not None:
                self._run(work)
        # Tasks are callbacks of futures and coroutines that wait for something: they are run
        # whenever something has come in.
        self._run_tasks()

    def wake(self) -> None:
        """List again what the nodes have to wait for: rclpy calls this when entities were added or removed."""
        self._changes += 1
        super().wake()

    def _current_entities(self) -> _Entities:
        # Counted before the entities are listed, so that a change while they are is not missed.
        changes, nodes = self._changes, self.get_nodes()
        if self._entities is None or (self._entities.changes, self._entities.nodes) != (changes, nodes):
            self._entities = _Entities(nodes, changes, self._context.handle)
        return self._entities

    def _run(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        coroutine = work()
        if not inspect.iscoroutine(coroutine):
            return
        try:
            coroutine.send(None)
        except StopIteration:
            return
        # It waits for a future: the rest of it is a task.
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
    """What the nodes have to wait for, and a wait set of that size."""

    def __init__(self, nodes: list[Node], changes: int, context: Any) -> None:
        self.nodes, self.changes = nodes, changes
        self.subscriptions = [e for n in nodes for e in n.subscriptions]
        self.clients = [e for n in nodes for e in n.clients]
        self.services = [e for n in nodes for e in n.services]
        self.timers = [e for n in nodes for e in n.timers]
        self.guards = [e for n in nodes for e in n.guards]
        self.waitables = [e for n in nodes for e in n.waitables]
        needs = [waitable.get_num_entities() for waitable in self.waitables]

        def total(name: str, own: int) -> int:
            return own + sum(getattr(need, name) for need in needs)

        self._wait_set = _rclpy.WaitSet(
            total("num_subscriptions", len(self.subscriptions)),
            total("num_guard_conditions", len(self.guards) + 1),
            total("num_timers", len(self.timers)),
            total("num_clients", len(self.clients)),
            total("num_services", len(self.services)),
            total("num_events", 0),
            context,
        )

    def wait(self, wake: GuardCondition, nanoseconds: int) -> None:
        """Wait until something is ready, up to a time [ns]; without limit when negative."""
        wait_set = self._wait_set
        wait_set.clear_entities()
        for subscription in self.subscriptions:
            wait_set.add_subscription(subscription.handle)
        for client in self.clients:
            wait_set.add_client(client.handle)
        for service in self.services:
            wait_set.add_service(service.handle)
        for timer in self.timers:
            wait_set.add_timer(timer.handle)
        for guard in self.guards:
            wait_set.add_guard_condition(guard.handle)
        for waitable in self.waitables:
            waitable.add_to_wait_set(wait_set)
        wait_set.add_guard_condition(wake.handle)
        wait_set.wait(nanoseconds)

    def ready(self, executor: SingleThreadedExecutor) -> list[tuple[Callable[[Any], Any], Any]]:
        """Return what is ready, each with the method that takes from it."""
        wait_set = self._wait_set
        ready = [(executor._take_waitable, w) for w in self.waitables if w.is_ready(wait_set)]
        for kind, entities, take in (
            ("timer", self.timers, executor._take_timer),
            ("subscription", self.subscriptions, executor._take_subscription),
            ("guard_condition", self.guards, executor._take_guard_condition),
            ("client", self.clients, executor._take_client),
            ("service", self.services, executor._take_service),
        ):
            if not entities:
                continue
            pointers = set(wait_set.get_ready_entities(kind))
            if pointers:
                ready += [(take, entity) for entity in entities if entity.handle.pointer in pointers]
        return ready
