//go:build cgo

package main

import _ "github.com/headrace/headrace/media/jpeg" // registers the decoder that the engine has
