//go:build cgo

package main

import _ "headrace/media/turbo" // registers the decoder of libjpeg-turbo
