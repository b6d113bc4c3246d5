package main

import _ "github.com/headrace/headrace/media/stills" // what needs no C
