//go:build cgo

package main

import _ "headrace/media/jpeg" // registers the decoder that the engine has
