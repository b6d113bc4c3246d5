// Package gate limits how many operations run at once, over all stages and runs that
// share a [Gate].
package gate
