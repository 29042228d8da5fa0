"""A small language model whose experts are an hpmoe kernel, next to the same model in plain PyTorch."""

import argparse

import torch
from torch import Tensor, nn
from torch.nn import functional

import hpmoe

HIDDEN, INTER, EXPERTS, TOP_K, LAYERS, WORDS, TOKENS = 64, 32, 8, 2, 2, 100, 32


class Experts(nn.Module):
    """A router and its experts; `kernel` is the layer that computes them, or None for PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(HIDDEN, EXPERTS, bias=False)
        self.gate = nn.Parameter(0.1 * torch.randn(EXPERTS, INTER, HIDDEN))
        self.up = nn.Parameter(0.1 * torch.randn(EXPERTS, INTER, HIDDEN))
        self.down = nn.Parameter(0.1 * torch.randn(EXPERTS, HIDDEN, INTER))
        self.kernel = None
        self.ids = None

    def forward(self, x: Tensor) -> Tensor:
        weights, self.ids = self.router(x).float().softmax(-1).topk(TOP_K)
        if self.kernel is not None:
            return self.kernel(x, self.ids, weights, self.gate, self.up, self.down)
        y = torch.zeros_like(x)
        for k in range(TOP_K):
            gate, up, down = (matrices[self.ids[:, k]] for matrices in (self.gate, self.up, self.down))
            h = functional.silu(torch.einsum("th,tih->ti", x, gate)) * torch.einsum("th,tih->ti", x, up)
            y = y + (weights[:, k : k + 1] * torch.einsum("ti,thi->th", h, down)).to(x.dtype)
        return y


class Model(nn.Module):
    """Words in, logits of the next word out."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, HIDDEN)
        self.attention = nn.ModuleList(nn.Linear(HIDDEN, 3 * HIDDEN, bias=False) for _ in range(LAYERS))
        self.experts = nn.ModuleList(Experts() for _ in range(LAYERS))
        self.out = nn.Linear(HIDDEN, WORDS, bias=False)

    def forward(self, words: Tensor) -> Tensor:
        x = self.words(words)
        for attention, experts in zip(self.attention, self.experts):
            q, k, v = attention(functional.rms_norm(x, [HIDDEN])).chunk(3, dim=-1)
            x = x + functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]
            x = x + experts(functional.rms_norm(x, [HIDDEN]))
        return self.out(x)


def step(model: Model, words: Tensor, kernel: object) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """Logits, routes and gradients of one training step."""
    for experts in model.experts:
        experts.kernel = kernel
    model.zero_grad()
    logits = model(words)
    functional.cross_entropy(logits[:-1].float(), words[1:]).backward()
    routes = [experts.ids for experts in model.experts]
    return logits.detach(), routes, [parameter.grad.clone() for parameter in model.parameters()]


def main() -> None:
    """Runs both models and compares them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2, help="a number that divides the experts (8)")
    parser.add_argument("--seed", type=int, default=2)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    model, words = Model().bfloat16(), torch.randint(WORDS, [TOKENS])
    layer = hpmoe.moe(hidden=HIDDEN, inter=INTER, experts=EXPERTS, top_k=TOP_K, max_tokens=64)
    layer.group = hpmoe.Group(ranks=options.ranks)

    logits, routes, gradients = step(model, words, None)
    of_kernel, its_routes, its_gradients = step(model, words, layer)
    print(hpmoe.last_report()["text"])
    same = all(torch.equal(a, b) for a, b in zip(routes, its_routes))
    print(f"\nroutes: {'the same' if same else 'different (a near tie: take another --seed)'}")
    print(f"logits: they differ by {(logits - of_kernel).abs().max():.1e} at most, of {logits.abs().max():.2f}")
    worst = max((a - b).float().norm() / a.float().norm() for a, b in zip(gradients, its_gradients))
    print(f"gradients: they differ by {worst:.1e} of their norm at most")
    next_words = (logits.argmax(-1) == of_kernel.argmax(-1)).float().mean()
    print(f"next words: {next_words:.0%} are the same")
    if same and (worst > 3e-2 or (logits - of_kernel).abs().max() > 1e-2 * logits.abs().max()):
        raise SystemExit("the models differ by more than bf16 explains")


if __name__ == "__main__":
    main()
