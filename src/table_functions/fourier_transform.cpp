#include "table_functions/fourier_transform.hpp"

#include <cmath>

namespace merganser {

using Complex = FourierTransform::Complex;

//! Without the detour of std::complex over infinities.
static Complex Multiply(const Complex &left, const Complex &right) {
	return Complex(left.real() * right.real() - left.imag() * right.imag(),
	               left.real() * right.imag() + left.imag() * right.real());
}

//! exp(-2 pi i numerator / denominator)
static Complex RootOfUnity(idx_t numerator, idx_t denominator) {
	static constexpr double TWO_PI = 6.283185307179586476925286766559;
	auto angle = TWO_PI * static_cast<double>(numerator % denominator) / static_cast<double>(denominator);
	return Complex(std::cos(angle), -std::sin(angle));
}

static bool IsPowerOfTwo(idx_t number) {
	return (number & (number - 1)) == 0;
}

FourierTransform::FourierTransform(idx_t length_p) : length(length_p), padded(1) {
	auto radix2 = IsPowerOfTwo(length);
	while (padded < (radix2 ? length : 2 * length - 1)) {
		padded *= 2;
	}
	for (idx_t k = 0; k < padded / 2; k++) {
		roots.push_back(RootOfUnity(k, padded));
	}
	if (radix2) {
		return;
	}
	filter.resize(padded);
	for (idx_t k = 0; k < length; k++) {
		chirp.push_back(RootOfUnity(k * k, 2 * length));
		filter[k] = filter[(padded - k) % padded] = std::conj(chirp[k]);
	}
	Radix2(filter.data());
}

void FourierTransform::Radix2(Complex *data) const {
	for (idx_t i = 1, reversed = 0; i < padded; i++) {
		auto bit = padded / 2;
		for (; reversed & bit; bit /= 2) {
			reversed ^= bit;
		}
		reversed |= bit;
		if (i < reversed) {
			std::swap(data[i], data[reversed]);
		}
	}
	for (idx_t half = 1; half < padded; half *= 2) {
		auto stride = padded / (2 * half);
		for (idx_t block = 0; block < padded; block += 2 * half) {
			for (idx_t i = 0; i < half; i++) {
				auto &even = data[block + i];
				auto &odd = data[block + half + i];
				auto turned = Multiply(odd, roots[i * stride]);
				odd = even - turned;
				even += turned;
			}
		}
	}
}

void FourierTransform::Bluestein(Complex *data) const {
	vector<Complex> padded_data(padded);
	for (idx_t k = 0; k < length; k++) {
		padded_data[k] = Multiply(data[k], chirp[k]);
	}
	Radix2(padded_data.data());
	// the inverse transform of the product, by conjugation
	for (idx_t k = 0; k < padded; k++) {
		padded_data[k] = std::conj(Multiply(padded_data[k], filter[k]));
	}
	Radix2(padded_data.data());
	for (idx_t k = 0; k < length; k++) {
		data[k] = Multiply(std::conj(padded_data[k]), chirp[k]) / static_cast<double>(padded);
	}
}

void FourierTransform::Forward(Complex *data) const {
	if (chirp.empty()) {
		Radix2(data);
	} else {
		Bluestein(data);
	}
}

void FourierTransform::Inverse(Complex *data) const {
	for (idx_t i = 0; i < length; i++) {
		data[i] = std::conj(data[i]);
	}
	Forward(data);
	for (idx_t i = 0; i < length; i++) {
		data[i] = std::conj(data[i]) / static_cast<double>(length);
	}
}

} // namespace merganser
