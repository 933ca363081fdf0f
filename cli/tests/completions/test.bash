# Completes command lines as bash does, and compares.
set -u
source <(holdoff completions bash)

completed() { # the words of the line
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  local completer
  completer=$(complete -p holdoff | sed 's/.*-F \([^ ]*\).*/\1/')
  "$completer" holdoff "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
  echo "${COMPREPLY[@]}"
}

fails=0
expect() { # the completion, then the words of the line
  local got
  got=$(completed "${@:2}")
  [ "$got" = "$1" ] || { echo "${*:2}: $got instead of $1"; fails=1; }
}
expect explain holdoff ex
expect serverless-workflow holdoff convert file.json --to ser
expect no_jitter holdoff scan --allow no_j
expect "polly" holdoff presets show pol
expect polly holdoff explain pol
expect polly holdoff simulate default pol
expect polly holdoff replay log --policy pol
exit $fails
