module.exports = {
  testEnvironment: `${process.env.TOOLS}/jest-environment-jsdom`,
  testMatch: ["**/*.jest.cjs"],
  transform: {},
};
