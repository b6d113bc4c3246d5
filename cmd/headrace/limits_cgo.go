//go:build cgo

package main

import "C" // for limits_cgo.c and malloc_cgo.c
