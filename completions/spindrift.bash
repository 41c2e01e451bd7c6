# bash completion for spindrift
_spindrift() {
  local current=$2 previous=$3 command=${COMP_WORDS[1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "generate chat serve logits tokenize template inspect list verify synth bench info -h --help --version" -- "$current")
    return
  fi
  case "$command $previous" in
    "generate --model" | "generate -m" | "generate --draft-model" | "chat --model" | "chat -m" | "chat --draft-model" | "serve --model" | "serve -m" | "serve --draft-model" | "logits --model" | "logits -m" | "tokenize --model" | "tokenize -m" | "template --model" | "template -m" | "verify --model" | "verify -m" | "verify --draft-model" | "synth --out" | "bench --model" | "bench -m" | "bench --draft-model")
      mapfile -t COMPREPLY < <(compgen -d -- "$current"); compopt -o filenames
      return
      ;;
    "generate --draft-kind" | "chat --draft-kind" | "serve --draft-kind" | "verify --draft-kind" | "bench --draft-kind")
      mapfile -t COMPREPLY < <(compgen -W "auto dflash mlp_speculator none" -- "$current")
      return
      ;;
    "generate --draft-top-k" | "generate --draft-candidates" | "generate --draft-tokens" | "generate --system" | "generate --max-tokens" | "generate -n" | "generate --temp" | "generate --top-k" | "generate --top-p" | "generate --min-p" | "generate --repeat-penalty" | "generate --seed" | "generate --stop" | "generate --threads" | "generate --prefill-chunk" | "generate --ctx" | "generate --memory-limit" | "generate --prompt" | "generate -p" | "generate --prompt-ids" | "chat --draft-top-k" | "chat --draft-candidates" | "chat --draft-tokens" | "chat --system" | "chat --max-tokens" | "chat -n" | "chat --temp" | "chat --top-k" | "chat --top-p" | "chat --min-p" | "chat --repeat-penalty" | "chat --seed" | "chat --stop" | "chat --threads" | "chat --prefill-chunk" | "chat --ctx" | "chat --memory-limit" | "serve --draft-top-k" | "serve --draft-candidates" | "serve --draft-tokens" | "serve --threads" | "serve --prefill-chunk" | "serve --ctx" | "serve --memory-limit" | "serve --host" | "serve --port" | "serve --api-key" | "serve --served-name" | "serve --parallel" | "serve --queue" | "serve --prefix-cache" | "serve --request-timeout" | "serve --cors" | "logits --threads" | "logits --prefill-chunk" | "logits --prompt-ids" | "tokenize --prompt" | "tokenize -p" | "tokenize --decode" | "template --set" | "verify --draft-top-k" | "verify --draft-candidates" | "verify --threads" | "synth --layers" | "synth --seed" | "bench --draft-top-k" | "bench --draft-candidates" | "bench --threads" | "bench --prefill-chunk" | "bench --ctx" | "bench --memory-limit" | "bench --context" | "bench --rows" | "bench --max-tokens" | "bench -n" | "bench --repeat" | "bench --prompt-ids" | "bench --accept-pattern")
      :
      return
      ;;
    "generate --tools" | "generate --messages" | "generate --prompt-file" | "generate --ledger" | "generate --trace" | "chat --tools" | "chat --messages" | "chat --ledger" | "chat --trace" | "serve --api-key-file" | "logits --out" | "tokenize --file" | "template --messages" | "template --tools" | "bench --prompt-file" | "bench --csv")
      compopt -o default
      return
      ;;
    "generate --kv-dtype" | "chat --kv-dtype" | "serve --kv-dtype" | "logits --kv-dtype" | "verify --kv-dtype" | "bench --kv-dtype")
      mapfile -t COMPREPLY < <(compgen -W "f32 bf16" -- "$current")
      return
      ;;
    "generate --color" | "chat --color")
      mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$current")
      return
      ;;
    "serve --log-level")
      mapfile -t COMPREPLY < <(compgen -W "debug info warn error off" -- "$current")
      return
      ;;
    "synth --shape")
      mapfile -t COMPREPLY < <(compgen -W "xs-2.1-nvfp4 xs-2.1-bf16 xs-2.1-int4 xs-2.1-mlx-4bit xs-2.1-mlx-nvfp4 xs.2-nvfp4 xs.2-fp8 s-2.1-nvfp4 s-2.1-nvfp4-0761412 m.1-nvfp4 xs-2.1-dflash s-2.1-dflash granite-3.0-8b granite-3.0-8b-accelerator" -- "$current")
      return
      ;;
  esac
  if [[ $current != -* ]]; then
    case $command in
      inspect | list)
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
        compopt -o filenames
        ;;
    esac
    return
  fi
  case $command in
    generate) mapfile -t COMPREPLY < <(compgen -W "-m --model --rope-derived --draft-model --draft-kind --draft-top-k --draft-candidates --draft-tokens --system --tools --think --no-think -n --max-tokens --temp --top-k --top-p --min-p --repeat-penalty --seed --stop --ignore-eos --threads --kv-dtype --lock --large-pages --prefill-chunk --ctx --memory-limit --color --quiet --messages --json -p --prompt --prompt-file --prompt-ids --raw --ledger --trace -h --help" -- "$current") ;;
    chat) mapfile -t COMPREPLY < <(compgen -W "-m --model --rope-derived --draft-model --draft-kind --draft-top-k --draft-candidates --draft-tokens --system --tools --think --no-think -n --max-tokens --temp --top-k --top-p --min-p --repeat-penalty --seed --stop --ignore-eos --threads --kv-dtype --lock --large-pages --prefill-chunk --ctx --memory-limit --color --quiet --messages --ledger --trace -h --help" -- "$current") ;;
    serve) mapfile -t COMPREPLY < <(compgen -W "-m --model --rope-derived --draft-model --draft-kind --draft-top-k --draft-candidates --draft-tokens --threads --kv-dtype --lock --large-pages --prefill-chunk --ctx --memory-limit --host --port --api-key --api-key-file --served-name --parallel --queue --prefix-cache --request-timeout --cors --log-level --log-prompts -h --help" -- "$current") ;;
    logits) mapfile -t COMPREPLY < <(compgen -W "-m --model --rope-derived --threads --kv-dtype --lock --large-pages --prefill-chunk --prompt-ids --out -h --help" -- "$current") ;;
    tokenize) mapfile -t COMPREPLY < <(compgen -W "-m --model -p --prompt --file --decode --add-bos --no-special -h --help" -- "$current") ;;
    template) mapfile -t COMPREPLY < <(compgen -W "-m --model --messages --tools --think --no-think --no-generation-prompt --set -h --help" -- "$current") ;;
    inspect) mapfile -t COMPREPLY < <(compgen -W "--check --json -h --help" -- "$current") ;;
    list) mapfile -t COMPREPLY < <(compgen -W "--json -h --help" -- "$current") ;;
    verify) mapfile -t COMPREPLY < <(compgen -W "-m --model --rope-derived --draft-model --draft-kind --draft-top-k --draft-candidates --threads --kv-dtype --lock --large-pages --quick -h --help" -- "$current") ;;
    synth) mapfile -t COMPREPLY < <(compgen -W "--shape --layers --out --seed --sparse -h --help" -- "$current") ;;
    bench) mapfile -t COMPREPLY < <(compgen -W "-m --model --rope-derived --draft-model --draft-kind --draft-top-k --draft-candidates --threads --kv-dtype --lock --large-pages --prefill-chunk --ctx --memory-limit --json --context --rows -n --max-tokens --repeat --prompt-file --prompt-ids --accept-pattern --ignore-eos --csv -h --help" -- "$current") ;;
    info) mapfile -t COMPREPLY < <(compgen -W "--json --measure -h --help" -- "$current") ;;
  esac
}
complete -F _spindrift spindrift
