/** Whether `make test-long` runs this, which tries all that a spec has; `make test` tries a part, by which what it guards can fail. */
export const isLong = process.env['TEST_LONG'] !== undefined

/** All of them in the long form, those that are named in the short one. */
export const inLongForm = <T>(all: readonly T[], isShortToo: (each: T) => boolean): readonly T[] =>
  isLong ? all : all.filter(isShortToo)
