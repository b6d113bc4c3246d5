// Package recipetest draws recipes for tests: any operation, with any arguments, by the
// fields of these and their tags.
//
// Tests that go over operations take them from here instead of listing them, so that each
// of them tests a new operation, too.
package recipetest
