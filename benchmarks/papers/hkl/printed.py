"""What the paper prints in its tables: means and deviations, as text."""

Cell = tuple[str, str]
"""A set, and the kernel."""

TABLE1: dict[Cell, str] = {
    ("abalone", "pol4"): "44.2±1.3 43.9±1.4 47.9±0.7 44.5±1.1 43.3±1.0",
    ("abalone", "rbf"): "43.0±0.9 45.0±1.7 49.0±1.7 43.7±1.0 43.0±1.1",
    ("boston", "pol4"): "17.1±3.6 24.7±10.8 29.3±2.3 22.2±2.2 18.1±3.8",
    ("boston", "rbf"): "16.4±4.0 32.4±8.2 29.4±1.6 20.7±2.1 17.1±4.7",
    ("pumadyn-32fh", "pol4"): "57.3±0.7 56.4±0.8 57.5±0.4 56.4±0.7 56.4±0.8",
    ("pumadyn-32fh", "rbf"): "57.7±0.6 72.2±22.5 89.3±2.0 56.5±0.8 55.7±0.7",
    ("pumadyn-32fm", "pol4"): "6.9±0.1 6.4±1.6 7.5±0.2 7.0±0.1 3.1±0.0",
    ("pumadyn-32fm", "rbf"): "5.0±0.1 46.2±51.6 44.7±5.7 7.1±0.1 3.4±0.0",
    ("pumadyn-32nh", "pol4"): "84.2±1.3 73.3±25.4 84.8±0.5 83.6±1.3 36.7±0.4",
    ("pumadyn-32nh", "rbf"): "56.5±1.1 81.3±25.0 98.1±0.7 83.7±1.3 35.5±0.5",
    ("pumadyn-32nm", "pol4"): "60.1±1.9 69.9±32.8 78.5±1.1 77.5±0.9 5.5±0.1",
    ("pumadyn-32nm", "rbf"): "15.7±0.4 67.3±42.4 95.9±1.9 77.6±0.9 7.2±0.1",
    ("bank-32fh", "pol4"): "40.1±0.7 39.2±0.8 41.3±0.7 38.7±0.7 38.9±0.7",
    ("bank-32fm", "pol4"): "6.0±0.1 5.0±0.2 7.0±0.2 6.1±0.3 5.1±0.1",
    ("bank-32nh", "pol4"): "44.3±1.2 46.3±1.4 45.8±0.8 46.0±1.2 43.6±1.1",
    ("bank-32nm", "pol4"): "17.2±0.6 18.2±0.8 19.5±0.4 21.0±0.7 16.8±0.6",
    ("bank-32fh", "rbf"): "39.0±0.7 39.7±0.7 66.1±6.9 38.4±0.7 38.4±0.7",
    ("bank-32fm", "rbf"): "5.7±0.2 5.8±0.4 36.3±4.1 5.9±0.2 4.6±0.2",
    ("bank-32nh", "rbf"): "44.3±1.2 49.4±1.6 93.0±2.8 46.1±1.1 43.5±1.0",
    ("bank-32nm", "rbf"): "16.9±0.6 21.0±0.6 62.3±2.5 20.9±0.7 16.4±0.6",
}
"""Of L2, greedy, lasso-alpha, MKL and HKL."""

TABLE2: dict[Cell, str] = {
    ("mushrooms", "pol4"): "0.4±0.4 0.1±0.1 0.1±0.2",
    ("mushrooms", "rbf"): "0.1±0.2 0.1±0.2 0.1±0.2",
    ("ringnorm", "pol4"): "3.8±1.1 5.9±1.3 2.0±0.3",
    ("ringnorm", "rbf"): "1.2±0.4 2.4±0.5 1.6±0.4",
    ("spambase", "pol4"): "8.3±1.0 9.7±1.8 8.1±0.7",
    ("spambase", "rbf"): "9.4±1.3 10.6±1.7 8.4±1.0",
    ("twonorm", "pol4"): "2.9±0.5 4.7±0.5 3.2±0.6",
}
"""Of L2, greedy and HKL; the end of the table is lost."""


def numbers(text: str) -> list[tuple[float, float]]:
    """Return the means and deviations of a row."""
    pairs = (cell.split("±") for cell in text.split())
    return [(float(mean), float(deviation)) for mean, deviation in pairs]
