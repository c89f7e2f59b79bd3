/**
 * Loaded before a test file. The runner would record every module that a test loads and read its source map, for coverage and `--changed`,
 * which are not used here: more than half of what a small test file costs. No program that a test starts is recorded either.
 */
process.env._TAPJS_PROCESSINFO_EXCLUDE_ = '/^/'
delete process.env.NODE_OPTIONS
