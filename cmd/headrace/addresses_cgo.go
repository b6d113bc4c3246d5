//go:build cgo

package main

import "C" // for addresses_cgo.c
