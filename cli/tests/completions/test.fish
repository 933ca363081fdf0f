# Completes command lines as fish does, and compares.
holdoff completions fish | source

function expect --argument-names line word
    set got (complete -C $line | string split --fields 1 \t)
    if test "$got" != "$word"
        echo "$line: $got instead of $word"
        exit 1
    end
end
expect "holdoff ex" explain
expect "holdoff convert file.json --to ser" serverless-workflow
expect "holdoff scan --allow no_j" no_jitter
expect "holdoff explain tenac" tenacity-random-exponential
expect "holdoff replay log --policy tenac" tenacity-random-exponential
