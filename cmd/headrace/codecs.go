package main

// Without C they refuse what they would decode, and say how to get it.
import _ "github.com/headrace/headrace/media/sound/coded"

// What read can read.
import _ "github.com/headrace/headrace/shard/formats"
