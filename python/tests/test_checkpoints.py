"""Experts of checkpoints: bit-identical to transformers' own loaders, on files that are made here."""

import json

import pytest

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")

import hpmoe  # noqa: E402
from hpmoe.checkpoints import load_experts, load_gpt_oss_experts  # noqa: E402

H, I, E = 64, 32, 8
PREFIX = "model.layers.3.mlp.experts"


def experts(dtype=torch.bfloat16, hidden: int = H, inter: int = I) -> tuple:
    """Gate and up matrices of all experts in one tensor, and down matrices."""
    random = torch.Generator().manual_seed(0)
    normal = lambda *shape: torch.randn(*shape, generator=random).to(dtype)  # noqa: E731
    return normal(E, 2 * inter, hidden), normal(E, hidden, inter)


def write(folder, tensors: dict, files: int = 1) -> None:
    """A checkpoint of several files, with tensors of other layers."""
    tensors = {f"{PREFIX}.{name}": tensor.contiguous() for name, tensor in tensors.items()}
    tensors["model.layers.30.mlp.experts.gate_up_proj"] = torch.zeros(3)
    names = sorted(tensors)
    parts = {f"model-{number}.safetensors": names[number::files] for number in range(files)}
    for file, of_file in parts.items():
        safetensors.save_file({name: tensors[name] for name in of_file}, folder / file)
    if files > 1:
        index = {"weight_map": {name: file for file, of_file in parts.items() for name in of_file}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def of_ranks(checkpoint, ranks: int = 4, **options) -> tuple:
    """The experts that all ranks read, one rank after another."""
    parts = [load_experts(checkpoint, PREFIX, rank=rank, ranks=ranks, **options) for rank in range(ranks)]
    assert all(tensor.is_contiguous() and len(tensor) == E // ranks for part in parts for tensor in part)
    return tuple(torch.cat(tensors) for tensors in zip(*parts))


@pytest.mark.parametrize("names", [("gate_proj", "up_proj", "down_proj"), ("w1", "w3", "w2")])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_a_tensor_for_each_matrix(tmp_path, names: tuple, dtype) -> None:
    gate_up, down = experts(dtype)
    gate, up = gate_up.chunk(2, dim=1)
    tensors = {f"{e}.{name}.weight": of[e] for e in range(E) for name, of in zip(names, (gate, up, down))}
    write(tmp_path, tensors, files=3)
    assert all(map(torch.equal, of_ranks(tmp_path), (gate_up.bfloat16(), down.bfloat16())))


def test_all_experts_in_one(tmp_path) -> None:
    gate_up, down = experts()
    write(tmp_path, {"gate_up_proj": gate_up, "down_proj": down})
    for place in (tmp_path, tmp_path / "model-0.safetensors"):
        assert all(map(torch.equal, of_ranks(place), (gate_up, down)))
    other = tmp_path / "transposed"
    other.mkdir()
    turns = torch.stack(gate_up.chunk(2, dim=1), dim=2).flatten(1, 2)
    write(other, {"gate_up_proj": turns.transpose(1, 2), "down_proj": down.transpose(1, 2)})
    assert all(map(torch.equal, of_ranks(other, 2, transposed=True, interleaved=True), (gate_up, down)))


def test_fp8_with_a_scale_for_each_block(tmp_path) -> None:
    hidden, inter = 200, 136
    gate_up, down = experts(torch.float32, hidden, inter)
    random, tensors, wants = torch.Generator().manual_seed(1), {}, []
    gate, up = gate_up.chunk(2, dim=1)
    for name, matrices in [("gate_proj", gate), ("up_proj", up), ("down_proj", down)]:
        want = torch.empty(matrices.shape, dtype=torch.bfloat16)
        for e, matrix in enumerate(matrices):
            fp8 = matrix.to(torch.float8_e4m3fn)
            scales = torch.rand(2, 2, generator=random) + 0.5
            tensors |= {f"{e}.{name}.weight": fp8, f"{e}.{name}.weight_scale_inv": scales}
            # Dequantize block by block, as the scheme is defined.
            for row in range(2):
                for column in range(2):
                    at = (slice(128 * row, 128 * row + 128), slice(128 * column, 128 * column + 128))
                    want[e][at] = (fp8[at].float() * scales[row, column]).bfloat16()
        wants.append(want)
    write(tmp_path, tensors)
    assert all(map(torch.equal, of_ranks(tmp_path), (torch.cat(wants[:2], dim=1), wants[2])))
    tensors["0.up_proj.weight_scale_inv"] = torch.ones(2, 1)
    write(tmp_path, tensors)
    with pytest.raises(hpmoe.HpmoeError, match=r"0.up_proj.weight_scale_inv has the shape \[2, 1\], but a matrix of 136 by 200"):
        load_experts(tmp_path, PREFIX)


def test_fp8_is_read_as_transformers_reads_it(tmp_path) -> None:
    loader = pytest.importorskip("transformers.integrations.finegrained_fp8").Fp8Dequantize(None)
    gate_up, down = experts(torch.float32, 256, 128)
    gate, up = gate_up.chunk(2, dim=1)
    tensors, wants = {}, []
    for name, matrices in [("gate_proj", gate), ("up_proj", up), ("down_proj", down)]:
        fp8, scales = matrices.to(torch.float8_e4m3fn), torch.rand(E, matrices.shape[1] // 128, matrices.shape[2] // 128) + 0.5
        tensors |= {f"{e}.{name}.weight": fp8[e] for e in range(E)}
        tensors |= {f"{e}.{name}.weight_scale_inv": scales[e] for e in range(E)}
        wants.append(torch.stack([loader._dequantize_one(fp8[e], scales[e], torch.bfloat16) for e in range(E)]))
    write(tmp_path, tensors)
    assert all(map(torch.equal, of_ranks(tmp_path), (torch.cat(wants[:2], dim=1), wants[2])))


def test_mxfp4(tmp_path) -> None:
    transformers = pytest.importorskip("transformers.integrations.mxfp4")
    random = torch.Generator().manual_seed(2)
    tensors, wants = {}, []
    for name, rows, columns in [("gate_up_proj", 2 * I, H), ("down_proj", H, I)]:
        blocks = torch.randint(0, 256, (E, rows, columns // 32, 16), generator=random, dtype=torch.uint8)
        scales = torch.randint(100, 140, (E, rows, columns // 32), generator=random, dtype=torch.uint8)
        tensors |= {f"{name}_blocks": blocks, f"{name}_scales": scales}
        # transformers returns the transposed matrix.
        wants.append(transformers.convert_moe_packed_tensors(blocks, scales).transpose(1, 2).contiguous())
    write(tmp_path, tensors)
    assert all(map(torch.equal, of_ranks(tmp_path), wants))
    gate_up, down = load_experts(tmp_path, PREFIX, interleaved=True)
    assert torch.equal(gate_up[:, :I], wants[0][:, ::2]) and torch.equal(gate_up[:, I:], wants[0][:, 1::2])


@pytest.mark.parametrize("packed", [True, False])
def test_gpt_oss_with_biases(tmp_path, packed: bool) -> None:
    transformers = pytest.importorskip("transformers.integrations.mxfp4")
    random = torch.Generator().manual_seed(3)
    tensors, wants = {}, []
    for name, rows, columns in [("gate_up_proj", 2 * I, H), ("down_proj", H, I)]:
        if packed:
            blocks = torch.randint(0, 256, (E, rows, columns // 32, 16), generator=random, dtype=torch.uint8)
            scales = torch.randint(100, 140, (E, rows, columns // 32), generator=random, dtype=torch.uint8)
            tensors |= {f"{name}_blocks": blocks, f"{name}_scales": scales}
            wants.append(transformers.convert_moe_packed_tensors(blocks, scales))
        else:
            tensors[name] = torch.randn(E, columns, rows, generator=random).bfloat16()
            wants.append(tensors[name])
        tensors[f"{name}_bias"] = torch.randn(E, rows, generator=random).bfloat16()
        wants.append(tensors[f"{name}_bias"])
    write(tmp_path, tensors, files=2)
    parts = [load_gpt_oss_experts(tmp_path, PREFIX, rank=rank, ranks=4) for rank in range(4)]
    assert all(tensor.is_contiguous() and len(tensor) == E // 4 for part in parts for tensor in part)
    assert all(torch.equal(torch.cat(part), want) for part, want in zip(zip(*parts), wants))
    with pytest.raises(hpmoe.HpmoeError, match="there is no rank 4 of 4: number them from 0 to 3"):
        load_gpt_oss_experts(tmp_path, PREFIX, rank=4, ranks=4)
    del tensors["down_proj_bias"]
    other = tmp_path / "without"
    other.mkdir()
    write(other, tensors)
    with pytest.raises(hpmoe.HpmoeError, match="no tensor .*.down_proj_bias: experts of gpt-oss have biases"):
        load_gpt_oss_experts(other, PREFIX)


def test_what_can_not_be_read(tmp_path) -> None:
    gate_up, down = experts()
    write(tmp_path, {"gate_up_proj": gate_up, "down_proj": down})
    for options, said in [
        ({"prefix": "model.layers.4.mlp.experts"}, "has no tensors whose names begin with 'model.layers.4.mlp.experts.'"),
        ({"ranks": 3}, "8 experts can't be divided evenly among 3 ranks: use a number of ranks that divides 8"),
        ({"rank": 2, "ranks": 2}, "there is no rank 2 of 2"),
    ]:
        with pytest.raises(hpmoe.HpmoeError, match=said):
            load_experts(tmp_path, **{"prefix": PREFIX, **options})
    write(tmp_path, {"gate_up_proj": gate_up})
    with pytest.raises(hpmoe.HpmoeError, match="the checkpoint has no tensor model.layers.3.mlp.experts.down_proj"):
        load_experts(tmp_path, PREFIX)
    write(tmp_path, {"gate_up_proj": gate_up.to(torch.float8_e4m3fn), "down_proj": down})
    with pytest.raises(hpmoe.HpmoeError, match="the matrices are torch.float8_e4m3fn without scales"):
        load_experts(tmp_path, PREFIX)
    write(tmp_path, {"0.gate_proj.weight": gate_up[0], "2.gate_proj.weight": gate_up[1]})
    with pytest.raises(hpmoe.HpmoeError, match=r"has experts \[0, 2\]: number them from 0 without gaps"):
        load_experts(tmp_path, PREFIX)


@pytest.mark.parametrize("name", ["Qwen3Moe", "Mixtral", "DeepseekV3", "Glm4Moe", "MiniMaxM2", "GptOss"])
def test_a_checkpoint_of_transformers_is_read_as_it_reads_it(tmp_path, name: str) -> None:
    transformers = pytest.importorskip("transformers", minversion="5")
    from test_hf import experts_of, model_of

    model_of(name, 0).save_pretrained(tmp_path, max_shard_size="60KB")
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16)
    names = json.loads((tmp_path / "model.safetensors.index.json").read_text())["weight_map"]
    prefix = next(name for name in names if name.startswith("model.layers.1.") and ".experts." in name).partition(".experts.")[0]
    read = load_gpt_oss_experts if name == "GptOss" else load_experts
    parts = [read(tmp_path, f"{prefix}.experts", rank=rank, ranks=4) for rank in range(4)]
    experts = experts_of(model)[1]
    want = [experts.gate_up_proj, experts.down_proj]
    if name == "GptOss":
        want = [experts.gate_up_proj, experts.gate_up_proj_bias, experts.down_proj, experts.down_proj_bias]
    assert all(torch.equal(torch.cat(part), tensor) for part, tensor in zip(zip(*parts), want, strict=True))
