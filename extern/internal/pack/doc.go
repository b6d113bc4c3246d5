// Package pack is calls on their way to a worker and back.
//
// It says what a pack of them is as a message, where their values and results are in
// memory, and what is wrong with results. It knows no process.
package pack
