/** Milliseconds since the epoch. */
export type Clock = () => number

/** A fresh UUIDv7. */
export type NewId = () => string
