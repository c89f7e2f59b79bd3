export const mebibyte = 1024 * 1024

export const bytesOf = (mebibytes: number | undefined): number | undefined =>
  mebibytes === undefined ? undefined : mebibytes * mebibyte

export const msOf = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : seconds * 1000
