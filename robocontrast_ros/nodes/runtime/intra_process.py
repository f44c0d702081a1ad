"""Messages between nodes of one process: handed over at once, by reference, and published as well.

rclpy has no intra-process communication: between two nodes of one process a message is serialised, sent, waited for
and deserialised. Where the publisher of a topic is in this process, its subscribers here get the message itself, in
the thread that publishes it, before it goes out to all others. They must not change it, and their callbacks must not
block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile

from robocontrast_ros.nodes.runtime.offered import subscribe_as_offered

_subscribers: dict[str, list[Callable[[Any], None]]] = {}
"""Topic that is handed over in this process -> the callbacks of its subscribers here."""


def hand_over(topics: Iterable[str]) -> None:
    """Set which topics have their publisher in this process; to be called before the nodes are made."""
    _subscribers.clear()
    _subscribers.update((topic, []) for topic in topics)


def subscribe(node: Node, kind: type, topic: str, callback: Callable[[Any], None], quality: QoSProfile) -> None:
    """Call a callback with each message of a topic, from this process or from elsewhere.

    Args:
        node: the subscriber, where the topic comes from elsewhere.
        kind: type of its messages.
        topic: its name, relative to the namespace.
        callback: called with each message.
        quality: of the subscription.
    """
    if topic in _subscribers:
        _subscribers[topic].append(callback)
    else:
        subscribe_as_offered(node, kind, topic, callback, quality)


class HandingPublisher:
    """A publisher whose messages are handed over to the subscribers in this process first."""

    def __init__(self, node: Node, kind: type, topic: str, quality: QoSProfile) -> None:
        """Make the publisher of a node."""
        self._publisher: Publisher = node.create_publisher(kind, topic, quality)
        self._topic = topic

    def publish(self, message: Any) -> None:
        """Hand the message over, then publish it."""
        for callback in tuple(_subscribers.get(self._topic, ())):
            callback(message)
        self._publisher.publish(message)

    def subscribers(self) -> int:
        """Return how many there are, in this process and elsewhere, as far as they have been discovered."""
        return len(_subscribers.get(self._topic, ())) + self._publisher.get_subscription_count()
