/** Milliseconds since the epoch. */
export type Clock = () => number

export type NewId = () => string
