//go:build !cgo

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "entropy compares decoders in C: build it with cgo")
	os.Exit(1)
}
