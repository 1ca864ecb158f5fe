"""A one-layer GRU, read fast."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

TIME_CHUNK = 512  # steps of a recurrent network between two yields, which bounds memory


class GruReader:
    """A one-layer GRU without gradients. The input's part in the gates depends on the token
    alone, so it is a table of all tokens, made once: a step is one product and a few sweeps.
    """

    def __init__(self, body: nn.GRU, embedding: Tensor) -> None:
        size = body.hidden_size
        input_weight, recurrent_weight, input_bias, recurrent_bias = body.all_weights[0]
        self._size, self._recurrent = size, recurrent_weight.T
        # The new gate's recurrent bias is inside the reset gate's product; the others just add.
        bias = input_bias.clone()
        bias[: 2 * size] += recurrent_bias[: 2 * size]
        self._new_bias = recurrent_bias[2 * size :]
        self._table = torch.addmm(bias, embedding, input_weight.T)  # [entries, 3 * size]

    def __call__(self, tokens: Tensor) -> Iterator[Tensor]:
        """See `Network.chunks`."""
        n, size = len(tokens), self._size
        state = self._table.new_zeros(n, size)
        given, gates = self._table.new_empty(2, n, 3 * size)
        for piece in torch.split(tokens.T.contiguous(), TIME_CHUNK):
            states = self._table.new_empty(len(piece), n, size)
            for step, token in enumerate(piece):
                torch.mm(state, self._recurrent, out=gates)
                torch.index_select(self._table, 0, token, out=given)
                reset_update = given[:, : 2 * size].add_(gates[:, : 2 * size]).sigmoid_()
                reset, update = reset_update[:, :size], reset_update[:, size:]
                old = gates[:, 2 * size :].add_(self._new_bias)
                new = given[:, 2 * size :].addcmul_(reset, old).tanh_()
                state = torch.lerp(new, state, update, out=states[step])
            yield states.transpose(0, 1)
