# Loads the completions as zsh does.
autoload -U compinit
compinit -u -D
source <(holdoff completions zsh)
[[ $_comps[holdoff] == _holdoff && $(whence -w _holdoff) == "_holdoff: function" ]]
(( $(grep -c "presets:preset:(default .* polly .*files:file:_files" <(holdoff completions zsh)) == 6 ))
