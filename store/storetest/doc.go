// Package storetest has the tests that every [github.com/headrace/headrace/store.Store]
// passes, and a store in memory.
package storetest
