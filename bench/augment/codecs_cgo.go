//go:build cgo

package main

import _ "github.com/headrace/headrace/media/turbo" // the kernels that the engine has
