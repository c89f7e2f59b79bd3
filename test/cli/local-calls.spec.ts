import t from 'tap'
import { LocalCalls } from '../../src/cli/local-calls.ts'
import { callsContract } from '../roles/calls-contract.ts'

callsContract(t, async (serve) => {
  const calls = new LocalCalls()
  const serving = calls.serve(serve)
  return { dispatch: calls.dispatch, close: () => serving.stop() }
})
