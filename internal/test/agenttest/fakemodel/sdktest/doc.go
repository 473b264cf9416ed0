// Package sdktest holds a fake model against the official clients of its APIs. It is a module of its own,
// because compiling the two clients takes longer than all the rest.
package sdktest
