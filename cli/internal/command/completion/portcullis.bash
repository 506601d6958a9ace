# bash completion for portcullis: source <(portcullis completion bash)
_portcullis() {
	local cur words
	cur="${COMP_WORDS[COMP_CWORD]}"
	words=("${COMP_WORDS[@]:1:COMP_CWORD-1}")
	if [[ "$cur" == -- ]]; then words+=(-); elif [[ "$cur" == -* ]]; then words+=("$cur"); fi
	local IFS=$'\n'
	COMPREPLY=($(compgen -W "$(portcullis "${words[@]}" --generate-bash-completion 2>/dev/null)" -- "$cur"))
}
complete -o bashdefault -o default -F _portcullis portcullis
