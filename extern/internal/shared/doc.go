// Package shared is the memory that the engine and its workers have in common: a heap of
// pieces, and segments that others bring.
package shared
