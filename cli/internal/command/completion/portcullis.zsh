#compdef portcullis
# zsh completion for portcullis: source <(portcullis completion zsh)
_portcullis() {
	local -a given options
	given=("${(@)words[2,CURRENT-1]}")
	if [[ "${words[CURRENT]}" == -- ]]; then given+=(-); elif [[ "${words[CURRENT]}" == -* ]]; then given+=("${words[CURRENT]}"); fi
	options=("${(@f)$(portcullis "${given[@]}" --generate-bash-completion 2>/dev/null)}")
	if [[ -n "${options[1]}" ]]; then
		compadd -- "${options[@]}"
	else
		_files
	fi
}
compdef _portcullis portcullis
