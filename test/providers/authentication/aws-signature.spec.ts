import { readFile } from 'node:fs/promises'
import t from 'tap'
import { signForAws } from '../../../src/providers/authentication/aws-signature.ts'

interface Vector {
  readonly name: string
  readonly method: string
  readonly uri: string
  readonly body: string
  readonly contentType?: string
  readonly sessionToken?: string
  readonly authorization: string
}

const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const signing = { region: 'us-east-1', service: 'service', nowMs: Date.parse('2015-08-30T12:36:00Z') }
const { signal } = new AbortController()

const sign = ({ method, uri, body, contentType, sessionToken }: Vector) =>
  signForAws(
    {
      method,
      url: `https://example.amazonaws.com${uri}`,
      headers: contentType === undefined ? {} : { 'content-type': contentType },
      body: Buffer.from(body),
      signal,
    },
    { ...signing, keys: sessionToken === undefined ? keys : { ...keys, sessionToken } },
  )

/** AWS Signature Version 4 Test Suite, (c) 2019 Amazon.com, Apache License 2.0: those of requests as ours can be. */
t.test('requests are signed as the published suite has it', async (t) => {
  const vectors = JSON.parse(
    await readFile(new URL('aws-signature-vectors.json', import.meta.url), 'utf8'),
  ) as readonly Vector[]
  t.ok(vectors.length >= 20)
  for (const vector of vectors) {
    const { authorization, 'x-amz-date': date, 'x-amz-security-token': token } = await sign(vector)
    t.equal(authorization, vector.authorization, vector.name)
    t.equal(date, '20150830T123600Z')
    t.equal(token, vector.sessionToken)
  }
})

t.test('the body, the path and the time are part of the signature', async (t) => {
  const request: Vector = { name: '', method: 'POST', uri: '/model/a%3A0/invoke', body: '{}', authorization: '' }
  const signatures = [
    await sign(request),
    await sign({ ...request, body: '{ }' }),
    await sign({ ...request, uri: '/model/a%3A1/invoke' }),
    await sign({ ...request, sessionToken: 'a-token' }),
  ].map(({ authorization }) => authorization)
  t.equal(new Set(signatures).size, signatures.length)
})
