//go:build headrace_debug && cgo

package main

import (
	"os"
	"strings"

	"headrace/media/turbo"
	"headrace/serve"
)

// Tests of what a client does after a crash need one: in C, of a sample they choose.
func init() {
	victim := os.Getenv("HEADRACE_TEST_CRASH")
	if victim == "" {
		return
	}
	serve.BeforeC = func(key string) {
		if strings.Contains(key, victim) {
			turbo.Crash()
		}
	}
}
