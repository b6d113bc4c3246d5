package main

import _ "headrace/media/stills" // what needs no C
