package sandbox

// MaxStack is for tests outside of the package.
const MaxStack = maxStack
