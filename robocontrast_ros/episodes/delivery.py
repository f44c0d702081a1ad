"""Whether the policy received what was sent: a perturbation that does not arrive is no evidence about the policy."""

from __future__ import annotations

from robocontrast_ros.domain import Delivery, Observed

SHOWN = 12
"""Hex digits of a digest that a message shows."""


def compare_delivery(sent: Observed, received: Observed) -> tuple[Delivery, str]:
    """Compare the sent with the received values that the policy server reports; values that it omits are unknown.

    Returns:
        Whether they arrived; and if not, the sent and the received values in words.
    """
    wrong = []
    if received.known and received.instruction != sent.instruction:
        wrong.append(f"instruction: sent '{sent.instruction}', received '{received.instruction}'")
    digests = {"segments": "segments_digest", "first images": "image_digest"}
    for what, name in digests.items():
        digest, other = getattr(sent, name), getattr(received, name)
        if other and other != digest:
            wrong.append(f"{what}, by SHA-256: sent {_shown(digest)}, received {_shown(other)}")
    if wrong:
        return Delivery.DIFFERENT, "; ".join(wrong)
    return (Delivery.CONFIRMED if received.known and received == sent else Delivery.UNKNOWN), ""


def unchanged_words(axes: str, received: Observed, twin: Observed) -> str:
    """Return why a perturbation of the language did not arrive, in words; empty if it did, or if that is not known.

    Args:
        axes: of the perturbation.
        received: the values received in the perturbed trial.
        twin: those received in the base trial with which it is compared.
    """
    same = (received.instruction, received.segments_digest) == (twin.instruction, twin.segments_digest)
    if "L" in axes and received.known and twin.known and same:
        return f"instruction: received '{received.instruction}', as in the base trial, where axis L means other words"
    return ""


def _shown(digest: str) -> str:
    return digest[:SHOWN] or "none"
