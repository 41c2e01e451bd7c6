# bash completion for spindrift
_spindrift() {
  local current=$2 previous=$3 command=${COMP_WORDS[1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "generate chat logits tokenize template inspect list verify info -h --help --version" -- "$current")
    return
  fi
  case "$command $previous" in
    "generate --model" | "generate -m" | "generate --draft-model" | "chat --model" | "chat -m" | "chat --draft-model" | "logits --model" | "logits -m" | "tokenize --model" | "tokenize -m" | "template --model" | "template -m" | "verify --model" | "verify -m" | "verify --draft-model")
      mapfile -t COMPREPLY < <(compgen -d -- "$current"); compopt -o filenames
      return
      ;;
    "generate --draft-kind" | "chat --draft-kind")
      mapfile -t COMPREPLY < <(compgen -W "auto dflash none" -- "$current")
      return
      ;;
    "generate --draft-tokens" | "generate --prompt" | "generate -p" | "generate --prompt-ids" | "generate --system" | "generate --max-tokens" | "generate -n" | "generate --temp" | "generate --top-k" | "generate --top-p" | "generate --min-p" | "generate --repeat-penalty" | "generate --seed" | "generate --stop" | "generate --threads" | "generate --prefill-chunk" | "generate --ctx" | "generate --memory-limit" | "chat --draft-tokens" | "chat --prompt" | "chat -p" | "chat --prompt-ids" | "chat --system" | "chat --max-tokens" | "chat -n" | "chat --temp" | "chat --top-k" | "chat --top-p" | "chat --min-p" | "chat --repeat-penalty" | "chat --seed" | "chat --stop" | "chat --threads" | "chat --prefill-chunk" | "chat --ctx" | "chat --memory-limit" | "logits --prompt-ids" | "logits --prefill-chunk" | "logits --threads" | "tokenize --prompt" | "tokenize -p" | "tokenize --decode" | "template --set")
      :
      return
      ;;
    "generate --prompt-file" | "generate --tools" | "generate --messages" | "generate --ledger" | "generate --trace" | "chat --prompt-file" | "chat --tools" | "chat --messages" | "chat --ledger" | "chat --trace" | "logits --out" | "tokenize --file" | "template --messages" | "template --tools")
      compopt -o default
      return
      ;;
    "generate --color" | "chat --color")
      mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$current")
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
    generate) mapfile -t COMPREPLY < <(compgen -W "-m --model --draft-model --draft-kind --draft-tokens -p --prompt --prompt-file --prompt-ids --raw --system --think --no-think --tools --messages -n --max-tokens --temp --top-k --top-p --min-p --repeat-penalty --seed --stop --ignore-eos --threads --prefill-chunk --ctx --memory-limit --rope-derived --json --ledger --trace --color --quiet -h --help" -- "$current") ;;
    chat) mapfile -t COMPREPLY < <(compgen -W "-m --model --draft-model --draft-kind --draft-tokens -p --prompt --prompt-file --prompt-ids --raw --system --think --no-think --tools --messages -n --max-tokens --temp --top-k --top-p --min-p --repeat-penalty --seed --stop --ignore-eos --threads --prefill-chunk --ctx --memory-limit --rope-derived --json --ledger --trace --color --quiet -h --help" -- "$current") ;;
    logits) mapfile -t COMPREPLY < <(compgen -W "-m --model --prompt-ids --out --prefill-chunk --threads -h --help" -- "$current") ;;
    tokenize) mapfile -t COMPREPLY < <(compgen -W "-m --model -p --prompt --file --add-bos --no-special --decode -h --help" -- "$current") ;;
    template) mapfile -t COMPREPLY < <(compgen -W "-m --model --messages --tools --think --no-think --no-generation-prompt --set -h --help" -- "$current") ;;
    inspect) mapfile -t COMPREPLY < <(compgen -W "--check --json -h --help" -- "$current") ;;
    list) mapfile -t COMPREPLY < <(compgen -W "--json -h --help" -- "$current") ;;
    verify) mapfile -t COMPREPLY < <(compgen -W "-m --model --draft-model --quick -h --help" -- "$current") ;;
    info) mapfile -t COMPREPLY < <(compgen -W "--json --measure -h --help" -- "$current") ;;
  esac
}
complete -F _spindrift spindrift
