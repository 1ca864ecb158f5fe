"""Tiny causal models written to disk, in each of the ways in which models come."""

import json

import torch
from peft import LoraConfig, get_peft_model

from tiny_causal import fluent, network, tokenizer


def saved(path, kind="llama", tokens="pieces", seed=0, **shape):
    """A model directory, and the network and tokenizer in it."""
    tok = tokenizer(tokens)
    net = fluent(network(kind, len(tok), seed, **shape), tok)
    net.save_pretrained(path)
    tok.save_pretrained(path)
    return net, tok


def saved_adapter(folder):
    """(a LoRA adapter on a base that is saved beside it, the network with the adapter beside its
    weights, the tokenizer).
    """
    net, tok = saved(folder / "base")
    config = LoraConfig(
        r=2, target_modules=["q_proj", "v_proj", "down_proj"], init_lora_weights=False
    )
    torch.manual_seed(0)
    beside = get_peft_model(net, config).eval()
    beside.peft_config["default"].base_model_name_or_path = str(folder / "base")
    beside.save_pretrained(folder / "adapter")
    return folder / "adapter", beside, tok


def write_gguf(path, net, tok):
    """A tiny Llama as a GGUF file, in float32, with its byte-level BPE."""
    import gguf

    config = net.config
    out = gguf.GGUFWriter(path, "llama")
    out.add_block_count(config.num_hidden_layers)
    out.add_context_length(config.max_position_embeddings)
    out.add_embedding_length(config.hidden_size)
    out.add_feed_forward_length(config.intermediate_size)
    out.add_head_count(config.num_attention_heads)
    out.add_head_count_kv(config.num_key_value_heads)
    out.add_layer_norm_rms_eps(config.rms_norm_eps)
    out.add_rope_freq_base(10000.0)
    out.add_vocab_size(config.vocab_size)
    out.add_tokenizer_model("gpt2")
    ids = range(len(tok))
    out.add_token_list(tok.convert_ids_to_tokens(list(ids)))
    out.add_token_types([3 if id == 0 else 1 for id in ids])
    merges = json.loads(tok.backend_tokenizer.to_str())["model"]["merges"]
    out.add_token_merges([" ".join(pair) for pair in merges])
    out.add_bos_token_id(0)
    out.add_eos_token_id(0)
    names = {
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
    }
    state = net.state_dict()
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for name, tensor in state.items():
        if ".layers." in name:
            _, _, layer, rest = name.split(".", 3)
            short, turned = rest.removesuffix(".weight"), tensor
            for part, count in heads.items():
                if part in name:  # llama.cpp turns neighbours, Hugging Face halves
                    rows, columns = tensor.shape
                    halves = tensor.view(count, 2, rows // count // 2, columns)
                    turned = halves.swapaxes(1, 2).reshape(rows, columns)
            out.add_tensor(f"blk.{layer}.{names[short]}.weight", turned.contiguous().numpy())
    out.add_tensor("token_embd.weight", state["model.embed_tokens.weight"].numpy())
    out.add_tensor("output_norm.weight", state["model.norm.weight"].numpy())
    out.add_tensor("output.weight", state["lm_head.weight"].numpy())
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
