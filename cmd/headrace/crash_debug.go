//go:build headrace_debug && cgo

package main

import (
	"os"
	"strings"

	"github.com/headrace/headrace/media/turbo"
	"github.com/headrace/headrace/serve"
)

func init() { serve.BeforeC = crashFor }

// Tests of what comes after a crash need one: in C, of a sample they choose.
var victim = os.Getenv("HEADRACE_TEST_CRASH")

func crashFor(key string) {
	if victim != "" && strings.Contains(key, victim) {
		turbo.Crash()
	}
}
