import { sharedLimits } from '../../runtime/limits.ts'

const gone = '[redacted]'

const topLevelDomains =
  'com|net|org|io|ai|dev|cloud|internal|local|localdomain|example|invalid|test|co|tech|eu|de|uk|us|cn|azure|svc|corp|lan'

const keyPatterns: readonly (readonly [RegExp, string])[] = [
  [/\bbearer\s+[^\s"',]+/gi, gone],
  [/\b(?:sk|pk|rk|xai|gsk)[-_][A-Za-z0-9_*.-]{4,}/g, gone],
  [/\bAIza[\w*-]{6,}/g, gone],
  [/\bya29\.[\w*-]+/g, gone],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{12,}/g, gone],
  [/\bGOCSPX-[\w-]+/g, gone],
  [/\beyJ[\w-]{10,}(?:\.[\w-]*)*/g, gone], // A JSON Web Token.
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, gone],
  [/\bSignature["']?\s*[:=]\s*["']?[0-9a-f]{16,}/gi, gone],
  [/\bx-amz-security-token["']?\s*[:=]\s*["']?[^\s"',]+/gi, gone],
  [/(?<![A-Za-z0-9_-])[A-Za-z0-9_-]+\*{3,}[A-Za-z0-9_-]*/g, gone],
]

/** Credentials and queries of an address; the address itself may be shown to an operator. */
const addressPatterns: readonly (readonly [RegExp, string])[] = [
  [/(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s"'`<>)\]/@]+@/gi, `$1${gone}@`],
  [/(\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s"'`<>)\]?]+)\?[^\s"'`<>)\]]*/gi, `$1?${gone}`],
]

/** A signature of AWS without its name; in our own log it is a digest. */
const signaturePattern = [/\b[0-9a-f]{64}\b/gi, gone] as const

const patterns: readonly (readonly [RegExp, string])[] = [
  [/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'`<>)\]]+/gi, gone],
  [/\barn:aws[\w-]*:[^\s"'`,;)\]]+/gi, gone],
  [/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g, gone],
  [/\b(?:org|proj|acct)[-_][A-Za-z0-9][\w-]*/g, gone],
  [/\breq_[A-Za-z0-9]{8,}/g, gone],
  [new RegExp(`\\b(?:[a-z0-9_-]+\\.)+(?:${topLevelDomains})\\b(?::\\d{1,5})?`, 'gi'), gone],
  [/\blocalhost(?::\d{1,5})?\b/gi, gone],
  [/\b(?:\d{1,3}\.){3}\d{1,3}\b(?::\d{1,5})?/g, gone],
  [/\[?\b(?:[0-9a-f]{1,4}:){2,7}:?[0-9a-f]{0,4}\b\]?(?::\d{1,5})?/gi, gone],
  // A name after the keyword, where it is quoted, after a colon, or not a plain word of the sentence.
  [
    /\b(organi[sz]ation|account|project|tenant|team)((?:\s+(?:name|id))?\s*[:=]?\s*)(["'`“])[^"'`”]{1,100}["'`”]/gi,
    `$1$2${gone}`,
  ],
  [
    /\b(organi[sz]ation|account|project|tenant|team)((?:\s+(?:name|id))?\s*[:=]\s*)(?!\[redacted)[\w.-]+/gi,
    `$1$2${gone}`,
  ],
  [
    /\b([Oo]rgani[sz]ation|[Aa]ccount|[Pp]roject|[Tt]enant|[Tt]eam)(\s+(?:(?:name|id)\s+)?)(?=\S*[A-Z0-9_-])(?!\[redacted)[A-Za-z0-9][\w.-]*/g,
    `$1$2${gone}`,
  ],
  [/\b((?:in|for|of)\s+(?:the\s+)?organi[sz]ation\s+)(?!\[redacted)[\w.-]+/gi, `$1${gone}`],
]

const replaceAll = (text: string, all: typeof patterns): string =>
  all.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), text)

const formsOf = (secret: string): readonly string[] => [
  ...new Set([
    secret,
    encodeURIComponent(secret),
    new URLSearchParams([['', secret]]).toString().slice(1),
    JSON.stringify(secret).slice(1, -1),
  ]),
]

/** Of a message, which may quote a caller's text: what is shown of it, with room for what is removed. */
const charactersRead = 8 * sharedLimits.upstreamMessageCharactersMax

/** Before a text is cut to what is shown: of a secret at its end a part would be left. */
const withoutSecrets = (text: string, secrets: readonly string[], charactersMax?: number): string => {
  const unnamed = secrets
    .filter((secret) => secret !== '')
    .flatMap(formsOf)
    .reduce((rest, form) => rest.replaceAll(form, gone), text)
  return replaceAll(unnamed.slice(0, charactersMax), keyPatterns)
}

/** For our own log: without key-like text, without users and queries of addresses, and without the secrets. */
export const withoutKeys = (text: string, secrets: readonly string[], charactersMax?: number): string =>
  replaceAll(withoutSecrets(text, secrets).slice(0, charactersMax), addressPatterns)

/** An upstream's message without keys, hosts, accounts and organisations. `secrets` are removed wherever they occur. */
export const scrub = (message: string, secrets: readonly string[]): string => {
  const whole = replaceAll(withoutSecrets(message, secrets, charactersRead), [signaturePattern])
  return replaceAll(whole.slice(0, sharedLimits.upstreamMessageCharactersMax), patterns)
}
