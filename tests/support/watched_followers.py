"""Followers that fail if they draw anything; here, so that their own processes find them."""

from leakscope.training.dp.noise.noise_source import SystemNoise
from leakscope.training.followed_training import FollowedTraining


class NoNoise(SystemNoise):
    """Fails when it is asked for noise."""

    def add_(self, tensors, deviation, step):
        raise AssertionError("a follower has drawn noise")


class NoUsers:
    """Fails when it is asked to draw users."""

    def bits(self, count, step):
        raise AssertionError("a follower has drawn users")


class WatchedTraining(FollowedTraining):
    """A private training whose followers fail if they draw anything."""

    def start(self, ranks):
        steps = super().start(ranks)
        steps.mitigation._noise = NoNoise()
        steps.mitigation._sampler._source = NoUsers()
        return steps
